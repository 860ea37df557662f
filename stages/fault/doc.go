// Package fault is the stage kind that disturbs the way to a server on purpose: with Toxiproxy, between a workload and what it talks to. It joins the
// sessions of the stages whose commands hold one of its tokens, as a server does: for each attempt a proxy of its own is started over the server,
// gets the toxics of its scenario, and is taken away afterwards.
//
// The baseline goes through the same proxy, without a toxic: what a scenario is compared with has the proxy's own cost in it. Scenarios are values
// of an axis, repetitions are attempts, and every one of them is a measurement as any other is: with its own key, its own record, and what
// the configuration of the proxy was as an artifact of it.
//
// What it never does: listen anywhere but on the loopback interface, forward to another machine, or change the server. The program of the
// proxy is identified by its bytes; its version is only what it says of itself.
package fault
