# Completion of flameox for fish. It asks flameox itself what may stand at the cursor.
function __flameox_complete
    set -l words (commandline -opc)
    set -l self $words[1]
    string match -q '~/*' -- $self; and set self $HOME/(string sub -s 3 -- $self)
    set -l typed (commandline -ct)
    set -l answer ($self __complete fish $words[2..-1] "$typed" 2>/dev/null </dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path "$typed"
        case dirs
            __fish_complete_directories "$typed"
    end
    for line in $answer[2..-1]
        printf '%s\n' $line
    end
end
complete -c flameox -e
complete -c flameox -f -a '(__flameox_complete)'
