package memcloud

// Bug is one thing that the provider does wrong on purpose.
type Bug string

// The bugs, each against one law.
const (
	None                  Bug = ""
	ReadsDefaults         Bug = "Observe adds a default that Compile does not state"
	CompilesByChance      Bug = "Compile differs from call to call"
	CompilesByHistory     Bug = "Compile of a gateway depends on what was compiled before"
	DoublesAfterLostReply Bug = "Create makes a second object when the first reply was lost"
	LosesTraffic          Bug = "an update deletes the object and makes it again"
	TouchesForeign        Bug = "an update of an adopted object overwrites a field that is not ours"
	ForgetsDelete         Bug = "Delete says done and does nothing"
	Overpromises          Bug = "Offers names an ability that Apply refuses"
	LeaksKey              Bug = "an error quotes the key"
	IgnoresCancel         Bug = "Observe goes on after its context ended"
	FastPathDiffers       Bug = "Endpoints states something else than Compile"
	ForgetsMark           Bug = "Mark says done and notes nothing"
	RenewalIsStructure    Bug = "a renewed certificate waits for approval like a new listener"
	NeverAlarms           Bug = "an issued certificate does not say when it must be renewed"
	IssuesAlways          Bug = "Place forgets the live certificate, so that a restart issues a new one"
	DropsAtOnce           Bug = "Place drops a root together with its source"
	ForgetsDropped        Bug = "Observe does not read since when a root is not published"
	LosesPlace            Bug = "nothing stands in for a rule whose backend is not there yet"
	RotatesUnheard        Bug = "a trust does not say when a root is to go"
)
