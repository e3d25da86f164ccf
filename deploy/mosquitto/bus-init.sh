#!/bin/sh
# Logins of the bus: a random password for each role, made on the first start and kept.
#
# Runs once before the broker, in the broker's own image, as root with the right to give files away
# and nothing else.  Writes
#
#   /mosquitto/auth/passwd, acl            what the broker checks, readable by the broker alone
#   /mosquitto/auth/{operator,viewer,health}/   option files, so that `mosquitto_pub` and `mosquitto_sub`
#                                          inside the broker's container need no flags
#   /logins/ROLE                           the password of one worker, readable by that worker's group
#
# The access list is deploy/mosquitto/acl; it is laid anew at each start.
set -eu
umask 077

AUTH=/mosquitto/auth
LOGINS=/logins
BROKER=1883:1883 # user and group of Mosquitto in its image

# Each worker runs in a group of its own (group_add in the Compose file), so that none of them can
# read what another one logs in with.
groups() {
  cat <<-END
	collector 18801
	evaluator 18802
	evictor 18803
	controller 18804
	responder 18805
	gateway 18806
	all 18807
	demo 18808
	END
}

random() { od -A n -N 24 -t x1 /dev/urandom | tr -d ' \n'; }

# A file appears whole or not at all, also when the power goes while it is written.
lay() { # FILE MODE OWNER
  cat >"$1.new"
  chmod "$2" "$1.new"
  chown "$3" "$1.new"
  mv "$1.new" "$1"
}

login() { # FILE MODE GROUP: the password in it, made where it is missing
  [ -s "$1" ] || random | lay "$1" "$2" "0:$3"
  cat "$1"
}

# The lines of an option file are flags of the two clients.
options() { # USER PASSWORD
  mkdir -p "$AUTH/$1"
  chmod 0755 "$AUTH/$1"
  for client in mosquitto_pub mosquitto_sub; do
    printf -- '-h 127.0.0.1\n-p 1883\n-V 5\n-u %s\n-P %s\n' "$1" "$2" | lay "$AUTH/$1/$client" 0400 "$BROKER"
  done
}

chmod 0755 "$AUTH" "$LOGINS"
passwords=$(mktemp)
for user in operator health viewer; do
  password=$(login "$AUTH/$user.password" 0400 0)
  mosquitto_passwd -b "$passwords" "$user" "$password"
  options "$user" "$password"
done
groups | while read -r user group; do
  mosquitto_passwd -b "$passwords" "$user" "$(login "$LOGINS/$user" 0440 "$group")"
done
lay "$AUTH/passwd" 0400 "$BROKER" <"$passwords"
lay "$AUTH/acl" 0400 "$BROKER" </mosquitto/config/acl
rm -f "$passwords"
echo "bus-init: every login is ready"
