// `npm run asterisk:install`: unpacks an Asterisk for tests and trial calls. Does nothing if it is present.
import { asteriskVersion } from "./asterisk/asterisk-files.ts";
import { installAsterisk } from "./asterisk/install-asterisk.ts";

try {
  const files = installAsterisk(console.log);
  console.log(`Asterisk ${asteriskVersion(files)} is in ${files.root}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
