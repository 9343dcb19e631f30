// Describes a write instead of sending it: the request that a form shows is the one it would send.

/** A request as another program would send it. */
export type DescribedWrite = {
  readonly method: string;
  readonly url: string;
  /** What the browser adds by itself is left out. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | FormData | null;
};

/** The error of a write that was described. Nothing has failed. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

let describing = false;
let described: DescribedWrite | null = null;

/**
 * Runs `submit` and returns the first write that it would have sent; null if it sent none, as a form with an invalid
 * field does. Requests that read are sent as always.
 */
export async function describeWrite(
  submit: () => Promise<unknown>,
): Promise<DescribedWrite | null> {
  describing = true;
  described = null;
  try {
    await submit();
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
  } finally {
    describing = false;
  }
  return described;
}

/** To be called before a write is sent: throws NotSent while one is described. */
export async function holdWhileDescribed(
  write: () => DescribedWrite | Promise<DescribedWrite>,
): Promise<void> {
  if (!describing) return;
  described ??= await write();
  throw new NotSent();
}
