import type { DescribedWrite } from "../api/described-write.ts";

/** A longer body is in a file of its own. */
const inline_max = 2_000;
export const body_file = "body.json";

/** A word of a POSIX shell that means exactly this text. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Returns the command that sends the write with the token in the variable TRUNKLINE_TOKEN, and the content of
 * `body.json` if the body is too long for a command line.
 */
export function curlCommand({ method, url, headers, body }: DescribedWrite): {
  readonly command: string;
  readonly file: string | null;
} {
  const is_long = typeof body === "string" && body.length > inline_max;
  const words = [
    `curl --request ${method} ${quote(url)}`,
    '--header "authorization: Bearer $TRUNKLINE_TOKEN"',
    ...headers.map(([name, value]) => `--header ${quote(`${name}: ${value}`)}`),
    ...dataOf(body, is_long),
  ];
  return { command: words.join(" \\\n  "), file: is_long ? body : null };
}

function dataOf(body: DescribedWrite["body"], isLong: boolean): readonly string[] {
  if (body === null) return [];
  if (typeof body === "string")
    return [isLong ? `--data-binary @${body_file}` : `--data-raw ${quote(body)}`];
  return [...body].map(([name, part]) =>
    typeof part === "string"
      ? `--form-string ${quote(`${name}=${part}`)}`
      : `--form ${quote(`${name}=@"${part.name.replaceAll(/["\\]/g, String.raw`\$&`)}"`)}`,
  );
}
