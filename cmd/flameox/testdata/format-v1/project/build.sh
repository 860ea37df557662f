mkdir -p "$1/tool/data"
echo 'exit "$1"' > "$1/tool/run.sh"
echo "$2" > "$1/tool/data/round.txt"
