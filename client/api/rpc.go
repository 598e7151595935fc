package api

// The methods of the protocol itself.
var (
	RPCMethods = define[Nothing, MethodsResult](Spec{
		Name: "rpc.methods", Idempotent: true, Since: "0.1.0",
		Summary: "Describes every method.",
	})
	RPCDescribe = define[DescribeParams, MethodDescription](Spec{
		Name: "rpc.describe", Idempotent: true, Since: "0.1.0",
		Summary: "Describes one method: parameters, results, defaults, guarantees.",
	})
	// RPCCancel takes the msgid by position, as JSON-RPC and LSP clients send it.
	RPCCancel = define[CancelParams, Nothing](Spec{
		Name: "rpc.cancel", NotifyOnly: true, Idempotent: true, Since: "0.1.0",
		Summary: "Cancels the call with this msgid on the same connection. Alias: $/cancelRequest. Params: [msgid].",
	})
)

// CancelAlias is the other name of RPCCancel, which LSP clients use.
const CancelAlias = "$/cancelRequest"

// CancelParams select the call to cancel.
type CancelParams struct {
	MsgID int64 `codec:"msgid" required:"true" doc:"the msgid of the call to cancel; sent by position as [msgid]"`
}

// DescribeParams select a method.
type DescribeParams struct {
	Method string `codec:"method" required:"true" doc:"the method's name"`
}

// MethodsResult lists every method.
type MethodsResult struct {
	Methods []MethodDescription `codec:"methods" doc:"every method, sorted by name"`
}

// MethodDescription is a Spec as it is sent on the wire.
type MethodDescription struct {
	Name       string             `codec:"name" doc:"the method"`
	Summary    string             `codec:"summary" doc:"what it does"`
	Idempotent bool               `codec:"idempotent" doc:"a call may be repeated without a request id"`
	Notify     bool               `codec:"notify" doc:"it may also be sent as a notification"`
	Admin      bool               `codec:"admin" doc:"the configuration can switch it off or restrict it to some uids"`
	Since      string             `codec:"since" doc:"the first version of the sidecar that has it"`
	Params     []FieldDescription `codec:"params" doc:"its parameters"`
	Result     []FieldDescription `codec:"result" doc:"the keys of its result"`
}

// FieldDescription is a Field as it is sent on the wire.
type FieldDescription struct {
	Name     string             `codec:"name" doc:"the key"`
	Type     string             `codec:"type" doc:"int, str, bool, bin, map, list or any"`
	Required bool               `codec:"required" doc:"of params: the key must be given; of a result: the key is always present"`
	Default  string             `codec:"default,omitempty" doc:"the value of an absent key, as text"`
	Min      *int64             `codec:"min,omitempty" doc:"the smallest allowed int, if it is bounded"`
	Max      *int64             `codec:"max,omitempty" doc:"the largest allowed int, if it is bounded"`
	Enum     []string           `codec:"enum,omitempty" doc:"the allowed values"`
	Fields   []FieldDescription `codec:"fields,omitempty" doc:"the keys of the map, or of the maps in the list"`
	Doc      string             `codec:"doc" doc:"what it is, with its unit"`
}
