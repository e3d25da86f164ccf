#!/bin/sh
# A responder with nothing but mosquitto_pub, mosquitto_sub and a POSIX shell.
#
#   NODE=demo-7 examples/responder.sh -h 127.0.0.1 -p 1883 -- sh -c 'echo "saving $POD"; sleep 3'
#
# For each workload with the label drain=yes that is to leave, and for each that names it, it runs
# the command, with NAMESPACE, POD and POD_UID set, and ends it when its turn is over. Options before
# -- are those of the Mosquitto clients; after `evictd client-config` none are needed.
set -u
: "${NODE:?is the name of the node}" "${NAME:=acme.io/script}"
root=evictd/v1/$NODE
clients=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    clients="$clients $1"
    shift
done
[ $# -gt 1 ] || { echo "usage: NODE=... $0 [options of the clients] -- command..." >&2; exit 2; }
shift

folder=$(mktemp -d) # one file an Eviction, named by its uid: the process that works on it, or "over"
epoch=$(date +%s)000
registration="\"epoch\":$epoch,\"connection\":1,\"selector\":{\"matchLabels\":{\"drain\":\"yes\"}}"

publish() { # topic, payload; state is retained
    # shellcheck disable=SC2086 # these are words
    mosquitto_pub $clients -q 1 -r -t "$root/$1" -m "$2"
}

report() { # topic of the Eviction, its uid, message, and completionTime to end the turn
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    publish "$1/responders/$NAME" \
        "{\"evictionUid\":\"$2\",\"message\":\"$3\",\"heartbeatTime\":\"$now\"${4:+,\"$4\":\"$now\"}}"
}

work() { # topic, uid, command...; a turn over 20 minutes has to report a new heartbeatTime in time
    topic=$1 uid=$2
    shift 2
    report "$topic" "$uid" begun
    "$@" &
    trap 'kill $!; exit' TERM
    wait $!
    code=$?
    trap '' TERM # the last word is said whole
    report "$topic" "$uid" "exited with $code" completionTime
    echo over >"$folder/$uid"
}

take() { # topic, Eviction as JSON, command...
    topic=${1#"$root/"} eviction=$2
    shift 2
    uid=${eviction#*'"uid":"'} uid=${uid%%'"'*}
    case $uid in '' | *[!0-9a-f-]*) return ;; esac # it is gone, or not the controller's
    chain=${eviction#*'"targetResponders":['} chain=${chain%%]*} ours=${chain#*"{\"name\":\"$NAME\""}
    [ "$ours" != "$chain" ] || return # we are not in it
    known=$(cat "$folder/$uid" 2>/dev/null)
    case ${ours%%\}*}$known in
    *'"state":"Active"')
        target=${eviction#*'"pod":{"name":"'}
        NAMESPACE=${topic#evictions/} NAMESPACE=${NAMESPACE%%/*} POD=${target%%'"'*}
        POD_UID=${target#*'"uid":"'} POD_UID=${POD_UID%%'"'*}
        export NAMESPACE POD POD_UID
        work "$topic" "$uid" "$@" &
        [ -s "$folder/$uid" ] || echo $! >"$folder/$uid"
        ;;
    *'"state":"Active"'*) ;; # at work, or reported
    *'"state":"'*[0-9])
        echo over >"$folder/$uid"
        kill "$known"
        ;;
    esac
}

leave() {
    trap '' TERM INT
    for known in $(cat "$folder"/*-* 2>/dev/null); do
        [ "$known" = over ] || kill "$known"
    done
    kill "$subscription" # a killed client says goodbye, which keeps its will back
    publish "responders/$NAME" "{\"status\":\"disconnected\",$registration}"
    rm -r "$folder"
    exit 0
}

# What an earlier life has completed is not done again.
# shellcheck disable=SC2086
mosquitto_sub $clients -q 1 -W 1 -t "$root/evictions/+/+/responders/$NAME" -F %p |
    while read -r said; do
        uid=${said#*'"evictionUid":"'} uid=${uid%%'"'*}
        case $uid in *[!0-9a-f-]*) continue ;; esac
        case $said in *'"completionTime":"'*) echo over >"$folder/$uid" ;; esac
    done

mkfifo "$folder/bus"
# shellcheck disable=SC2086
mosquitto_sub $clients -q 1 -F '%t %p' -t "$root/evictions/+/+" -t "$root/responders/$NAME" \
    --will-topic "$root/responders/$NAME" --will-payload "{\"status\":\"lost\",$registration}" \
    --will-qos 1 --will-retain >"$folder/bus" &
subscription=$!
trap leave TERM INT
publish "responders/$NAME" "{\"status\":\"ready\",$registration}"

while read -r topic payload; do
    case $topic in
    "$root/evictions/"*) take "$topic" "$payload" "$@" ;;
    *) case $payload in # the connection was lost, and is there again
        *'"lost"'*"$epoch"*) publish "responders/$NAME" "{\"status\":\"ready\",$registration}" ;;
        esac ;;
    esac
done <"$folder/bus"
leave
