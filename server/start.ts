// The entry of a build made by `npm run build`: runs it, or the sources if they have changed since.
import { join } from "node:path";
import { hashServerSources, isBuildOf } from "./lib/installation/builds.ts";
import { install_dir } from "./lib/installation/install-dir.ts";

if (await isBuildOf(hashServerSources(), import.meta.dirname)) {
  await import("./main.ts");
} else {
  console.warn(
    "dist/server is not a build of these sources, which run instead; npm run build makes a new one",
  );
  await import(join(install_dir, "server/main.ts"));
}
