# Completion of flameox for bash 4.4 and newer. It asks flameox itself what may stand at the cursor.
_flameox() {
    local self=$1
    local -a answer=()
    [[ $self == '~/'* ]] && self=$HOME/${self:2}
    mapfile -t answer < <("$self" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    COMPREPLY=("${answer[@]:1}")
    case ${answer[0]} in
    files) compopt -o default 2>/dev/null ;;
    dirs) compopt -o dirnames 2>/dev/null ;;
    nospace) compopt -o nospace 2>/dev/null ;;
    esac
    return 0
}
complete -o nosort -F _flameox flameox
