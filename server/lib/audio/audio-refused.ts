/** The sound cannot be taken; `message` says why, for the person who sent it. */
export class AudioRefused extends Error {
  override readonly name = "AudioRefused";
}
