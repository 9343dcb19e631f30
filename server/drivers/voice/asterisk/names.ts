// What is ours at the switch (legs, bridges, recordings, ringing) has its own name there, closed with
// the application's: what another installation does on the switch is none of our business, though it
// counts its calls as we do. The closing also keeps apart what Asterisk, which finds channels by the
// beginning of their id, would take for one: no name of ours holds its first character.

/** The id at the switch of what we call `name`. */
export function idAtSwitch(app: string, name: string): string {
  return `${name}_${app}`;
}

/** What we call the thing with this id; null: none of ours. */
export function ownName(app: string, id: string): string | null {
  const [name = ""] = id.split("_");
  return idAtSwitch(app, name) === id ? name : null;
}

/** Of the ringing that a leg hears. */
export function ringbackId(app: string, leg: string): string {
  return idAtSwitch(app, `${leg}-ring`);
}

/** Of a channel that carries sound to and from us: no leg, so that a survey does not show it as one. */
export function mediaId(app: string, unique: string): string {
  return `media_${unique}_${app}`;
}

/** Whether the channel with this id is one of these, of this application. */
export function isMedia(app: string, id: string): boolean {
  return id.startsWith("media_") && mediaId(app, id.split("_")[1] ?? "") === id;
}
