// The page to open after a sign-in at the identity provider, which is outside the console.
const storage_key = "sign-in-target";

export const keepTarget = (to: string): void => sessionStorage.setItem(storage_key, to);

export const keptTarget = (): string => sessionStorage.getItem(storage_key) ?? "/";
