import { findPackageJSON } from "node:module";
import { dirname } from "node:path";

/** The root of the installation, which holds package.json, of the sources and of a build alike. */
export const install_dir = dirname(findPackageJSON(import.meta.url)!);
