// Documents that never change while the process runs: compressed once, then sent as they are.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

export type Document = {
  readonly content_type: string;
  readonly etag: string;
  readonly bodies: Readonly<Record<Encoding, Buffer>>;
};
type Encoding = "br" | "gzip" | "identity";

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);
/** The highest levels take seconds for a file of 2 MB. */
const brotli_quality = 5;

/** Compresses a document. */
export async function prepareDocument(content: Buffer, content_type: string): Promise<Document> {
  const [br, gz] = await Promise.all([
    compressBrotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: brotli_quality } }),
    compressGzip(content),
  ]);
  const etag = createHash("sha256").update(content).digest("base64url").slice(0, 22);
  return { content_type, etag, bodies: { br, gzip: gz, identity: content } };
}

/** Sends a document in an encoding that the request accepts; 304 if the client has it already. */
export function sendDocument(
  { content_type, etag, bodies }: Document,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const encoding = chooseEncoding(request.headers["accept-encoding"]);
  const tag = `"${etag}-${encoding}"`;
  void reply.headers({ etag: tag, vary: "accept-encoding", "cache-control": "no-cache" });
  if (request.headers["if-none-match"]?.includes(tag)) return reply.code(304).send();
  if (encoding !== "identity") void reply.header("content-encoding", encoding);
  return reply.header("content-type", content_type).send(bodies[encoding]);
}

function chooseEncoding(accepted = ""): Encoding {
  const accepts = (name: string) =>
    new RegExp(`(?:^|[,\\s])${name}\\s*(?:,|$|;(?!\\s*q=0(?:\\.0*)?\\s*(?:,|$)))`, "i").test(
      accepted,
    );
  return accepts("br") ? "br" : accepts("gzip") ? "gzip" : "identity";
}
