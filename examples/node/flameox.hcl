# Where does a Node program spend its time, what does it allocate, and how does a
# small server behave while it is asked?
#
#   flameox apply

workload "words" {
  command = ["node", "words.js", matrix.way, "20000"]
  sources = ["words.js"]
  matrix  = { way = ["regex", "split"] }
}

# V8's own sampling profiler.
capture "node" "words" {
  workload = workload.words
  profiles = ["cpu"]
}

# A server: it is started for each stage whose command holds one of its tokens, asked
# until it is ready, sampled beside the stage, and ended after it.
server "words" {
  command = ["node", "server.js", self_port]
  sources = ["server.js"]
  ready { http = "/" }
}

workload "ask" {
  command = ["node", "ask.js", server.words.url]
  sources = ["ask.js"]
}

capture "command" "ask" { workload = workload.ask }

# Looks at the server's memory more often than is usual.
sample "resources" "server" {
  during   = capture.command.ask
  of       = server.words
  interval = "50ms"
}

check "every_profile_is_whole" {
  assert {
    condition     = alltrue([for rows in extract.node.words : rows.state == "complete"])
    error_message = "A profile is not whole. flameox show tells what is missing."
  }
}
