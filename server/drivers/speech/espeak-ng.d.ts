// Declares the used part of the package, which has no types: eSpeak's command line, run once per call.
declare module "espeak-ng" {
  type Imports = Readonly<Record<string, unknown>>;
  type Options = {
    readonly arguments: readonly string[];
    /** The next byte; null at the end. */
    readonly stdin: () => number | null;
    readonly print: (line: string) => void;
    readonly printErr: (line: string) => void;
    /** Instantiates the module in place of the package, which would compile it each time. */
    readonly instantiateWasm: (imports: Imports, done: (instance: object) => void) => object;
  };
  type Files = {
    readFile(path: string): Uint8Array;
    analyzePath(path: string): { readonly exists: boolean };
  };
  export default function runEspeak(options: Options): Promise<{ readonly FS: Files }>;
}

/** Part of the global that @types/node does not declare. */
declare namespace WebAssembly {
  function compile(bytes: Uint8Array): Promise<object>;
  function instantiate(program: object, imports: object): Promise<object>;
}
