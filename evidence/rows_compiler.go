package evidence

// CompilerArtifactsTable is the name of the table of what compilers of GPU kernels left.
const CompilerArtifactsTable = "compiler_artifacts"

// CompilerArtifact is one file that a compiler of GPU kernels left. The file itself is an artifact of the run, called as the stage is. That it is
// there says nothing about whether the kernel computes what it should.
type CompilerArtifact struct {
	Stage           string  `col:"stage" doc:"name of the artifact in the run: the file's path below the output folder" source:"kernel-build.json: stages[].name"`
	Ordinal         int64   `col:"ordinal" doc:"position in the pipeline, from 1; within a kernel a stage stands behind what it is made from, between kernels it means nothing" source:"stages[].ordinal"`
	Dump            string  `col:"dump" doc:"the folder that the compiler dumped it to; Triton has one a source and signature" source:"stages[].group"`
	Kernel          string  `col:"kernel" doc:"the file's name without what tells its kind" source:"stages[].kernel"`
	Kind            string  `col:"kind" doc:"ttir, ttgir, llir, ptx, cubin, sass, amdgcn, hsaco, metadata, json; mlir, cute_dsl_ir, ll, llvm; reproducer" source:"stages[].kind"`
	Predecessor     *string `col:"predecessor,null" doc:"the stage that it was made from; missing where the files do not say" source:"stages[].predecessor"`
	File            string  `col:"file" doc:"SHA-256 of the file" source:"stages[].sha256"`
	Bytes           int64   `col:"bytes" unit:"bytes" doc:"of the file" source:"stages[].bytes"`
	Target          *string `col:"target,null" doc:"what it is built for, as the file says: sm_90a, amdgpu9.42-amd-amdhsa-unknown-gfx942" source:".target of PTX, .amdgcn_target of AMDGPU assembly, target of Triton's metadata"`
	PTXVersion      *string `col:"ptx_version,null" doc:"version of the language" source:".version of PTX"`
	DeclaredTarget  *string `col:"declared_target,null" doc:"what the capture declares that it is built for; compared with nothing" source:"target"`
	Definition      string  `col:"definition" doc:"address of the workload that compiled it, with its axes" source:"workload.definition"`
	Producer        string  `col:"producer" doc:"the compiler: triton, cute" source:"producer"`
	ProducerVersion *string `col:"producer_version,null" doc:"as the file says, else as the environment of the run has it; missing where neither says" source:"ident of LLVM IR, triton_version of metadata, producer_version"`
	Outcome         string  `col:"outcome" doc:"of the build: succeeded, failed" source:"outcome"`
}
