/** The name of a number's contact below the number; nothing while it is unknown. */
export function ContactName({ name }: { readonly name: string | null }) {
  if (name === null) return null;
  return <span className="text-muted block text-xs font-normal wrap-anywhere">{name}</span>;
}
