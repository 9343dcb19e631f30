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
