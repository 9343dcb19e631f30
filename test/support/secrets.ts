import { openSecrets } from "../../server/lib/secrets/secrets.ts";

/** The key of tests and of the services that they start. */
export const test_secret_key = Buffer.alloc(32, "test key").toString("base64");

/** Seals with that key. */
export const testSecrets = openSecrets(() => [Buffer.from(test_secret_key, "base64")]);
