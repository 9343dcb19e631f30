// The first match counts, because each User-Agent also names the browsers that it is compatible with.
const browsers = [
  [/Edg/, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS/, "Firefox"],
  [/Chrome\/|CriOS/, "Chrome"],
  [/Safari\//, "Safari"],
] as const;
const systems = [
  [/Windows/, "Windows"],
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
] as const;

/** Returns a User-Agent in words, such as "Firefox on Windows". */
export function describeProgram(user_agent: string | null): string {
  if (!user_agent) return "Unknown program";
  const nameOf = (list: typeof browsers | typeof systems) =>
    list.find(([pattern]) => pattern.test(user_agent))?.[1];
  const browser = nameOf(browsers);
  if (!browser) return user_agent.slice(0, 60);
  const system = nameOf(systems);
  return system ? `${browser} on ${system}` : browser;
}
