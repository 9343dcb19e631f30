#!/usr/bin/env node
// The operator's command line, as a program.
import { runCommandLine } from "./run-command-line.ts";

const { code, stdout, stderr } = await runCommandLine(process.argv.slice(2), process.env);
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
