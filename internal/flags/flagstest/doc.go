// Package flagstest proves that every command of an application reads its arguments
// as internal/flags promises. It is for tests; it runs no action of the application.
package flagstest
