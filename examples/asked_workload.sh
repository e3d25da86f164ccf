#!/bin/sh
# A workload that is asked on its own MQTT topic before it is stopped, in nothing but mosquitto_pub,
# mosquitto_sub and a POSIX shell.
#
#   TOPIC=plant/shop/web/evict examples/asked_workload.sh -h 127.0.0.1 -p 1883 -- sh -c 'sleep 3'
#
# It runs the command when it is asked, answers when that has ended, and ends it when it may stay
# after all. `evictd respond` asks, with this in its configuration:
#
#   responders:
#     - {name: acme.io/ask, topic: "plant/{namespace}/{name}/evict", selector: {}}
#
# Options before -- are those of the Mosquitto clients.
set -u
: "${TOPIC:?is the topic on which it is asked}" "${ANSWER:=$TOPIC/answer}"
clients=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    clients="$clients $1"
    shift
done
[ $# -gt 1 ] || { echo "usage: TOPIC=... $0 [options of the clients] -- command..." >&2; exit 2; }
shift

folder=$(mktemp -d) # for each question, named by its uid: .at, the process at work, and .done, its exit
mkfifo "$folder/questions"

answer() { # uid, message, and completionTime to say that it is done
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    # shellcheck disable=SC2086 # these are words
    mosquitto_pub $clients -q 1 -t "$ANSWER" \
        -m "{\"evictionUid\":\"$1\",\"message\":\"$2\",\"heartbeatTime\":\"$now\"${3:+,\"$3\":\"$now\"}}"
}

save() { # uid, command...
    uid=$1
    shift
    answer "$uid" saving
    "$@" &
    trap 'kill $!; exit' TERM
    wait $!
    code=$?
    trap '' TERM # the last word is said whole
    echo "$code" >"$folder/$uid.done"
    answer "$uid" "exited with $code" completionTime
}

take() { # question as JSON, command...
    question=$1
    shift
    uid=${question#*'"evictionUid":"'} uid=${uid%%'"'*}
    case $uid in '' | *[!0-9a-f-]*) return ;; esac
    case $question in
    *'"state":"Canceled"'*)
        end "$folder/$uid"
        rm -f "$folder/$uid.at" "$folder/$uid.done"
        ;;
    *)
        if [ -f "$folder/$uid.done" ]; then # our last word was lost, and we are asked again
            answer "$uid" "exited with $(cat "$folder/$uid.done")" completionTime
        elif [ -f "$folder/$uid.at" ]; then
            answer "$uid" saving
        else
            save "$uid" "$@" &
            echo $! >"$folder/$uid.at"
        fi
        ;;
    esac
}

end() { # the files of a question: whoever works on it
    [ ! -f "$1.at" ] || [ -f "$1.done" ] || kill "$(cat "$1.at")"
}

leave() {
    trap '' TERM INT
    for file in "$folder"/*.at; do
        end "${file%.at}"
    done
    kill "$subscription"
    rm -r "$folder"
    exit 0
}

# shellcheck disable=SC2086
mosquitto_sub $clients -q 1 -t "$TOPIC" -F %p >"$folder/questions" &
subscription=$!
trap leave TERM INT

while read -r question; do
    take "$question" "$@"
done <"$folder/questions"
leave
