#compdef flameox
# Completion of flameox for zsh. It asks flameox itself what may stand at the cursor.
_flameox() {
    local -a answer finished unfinished
    local kind line value about self=${(Q)words[1]}
    [[ $self == '~/'* ]] && self=$HOME/${self#\~/}
    answer=("${(@f)$($self __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    kind=$answer[1]
    shift answer
    for line in $answer; do
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        line=${${value//\\/\\\\}//:/\\:}
        [[ -n $about ]] && line+=:$about
        if [[ $value == *[=:] ]]; then
            unfinished+=("$line")
        else
            finished+=("$line")
        fi
    done
    (( $#finished )) && _describe -V 'flameox' finished
    (( $#unfinished )) && _describe -V 'flameox' unfinished -S ''
    case $kind in
    files) _files ;;
    dirs) _files -/ ;;
    esac
}
if [[ $funcstack[1] == _flameox ]]; then
    _flameox "$@"
else
    compdef _flameox flameox
fi
