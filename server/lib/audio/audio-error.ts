/** The file cannot be used as audio. `message` gives the reason to the person who uploaded it. */
export class AudioError extends Error {
  override readonly name = "AudioError";
}
