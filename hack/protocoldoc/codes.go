package main

import "github.com/coxswain-sidecar/coxswain/client/api"

// code is one line of the table of errors. Its kind and whether it may be
// retried come from the contract itself.
type code struct {
	api.Code
	Meaning string
}

// Kind is the first element of an error of this code in the two-element form.
func (c code) Kind() int {
	if c.CallerFault() {
		return 1
	}
	return 0
}

// codes has every code; a test compares it with package api.
var codes = []code{
	{api.InvalidArgument, "a parameter is wrong or unknown; the text names the key and the remedy"},
	{api.InvalidRequest, "the frame is MessagePack but not a request, or its params are not one map"},
	{api.MethodNotFound, "there is no such method; the text names the nearest one"},
	{api.NotFound, "an object that the call names, such as a rule, does not exist"},
	{api.FailedPrecondition, "the call is not possible in the present state"},
	{api.PermissionDenied, "this client may not call this method"},
	{api.Conflict, "the request id was used before with other parameters"},
	{api.DeadlineExceeded, "the call's deadline is over"},
	{api.Cancelled, "the client cancelled the call"},
	{api.Overloaded, "too many calls of this connection, or of all together, are in flight or wait; read replies first, and try again later"},
	{api.Unavailable, "Redis cannot be reached, did not reply or refuses; the text has the reason, and in map form `details.trouble` its name; " +
		"`maybe executed` in the text means that the call may have been carried out"},
	{api.Draining, "the sidecar is shutting down and accepts no new acquisitions; it still accepts releases and renewals"},
	{api.Internal, "a fault of the sidecar; its log has the cause"},
}
