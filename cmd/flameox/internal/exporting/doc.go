// Package exporting has the command export, which writes a run's evidence for another tool.
package exporting
