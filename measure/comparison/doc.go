// Package comparison makes a comparison document of the results of one run.
//
// A comparison is a pure function of its inputs: the same results give the same document whatever store they come from and in whatever order, so it is made
// anew whenever it is asked for and stored nowhere. It has two sides, told apart by the one fact that its profile varies; every fact that the profile's policy matches must
// agree across them, else there is no verdict, and the document says by which fact. What is left out is listed: units that one side lacks, attempts that did not
// succeed, invariants that failed. How the numbers of a unit are judged is measure/paired's.
package comparison
