// Valid requests to the routes that only a person uses: to sign in, and with a session.
import { randomUUID } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import type { TestApi, RequestOptions } from "../support/api.ts";
import type { OidcStub } from "../support/oidc-stub.ts";
import { makeAuthenticator } from "../support/soft-authenticator.ts";

const password = "correct horse battery";
const headers = { "sec-fetch-site": "same-origin" };

type SessionRequests = Readonly<Record<string, { path: string; options: RequestOptions }>>;

/** Creates a user for each request, so that none ends the session of another; by route ID. */
export async function sessionRequests(
  api: TestApi,
  token: string,
  provider: OidcStub,
): Promise<SessionRequests> {
  const invite = async () => {
    const email = `${randomUUID()}@test.example`;
    const json = { name: "Asha", email };
    const { body: user } = await api.send("POST", "/api/v1/users", { token, json });
    const { body } = await api.send("POST", `/api/v1/users/${user.id}/sign-in-link`, { token });
    return { email, link: (body.path as string).split("#")[1]! };
  };
  const signIn = async () => {
    const { email, link } = await invite();
    const answer = await api.send("POST", "/api/v1/session/link", {
      headers,
      json: { link, password },
    });
    return { email, cookie: answer.headers.get("set-cookie")!.split(";")[0]! };
  };
  const withSession = async (path: string, json?: object) => {
    const { cookie } = await signIn();
    return { path, options: { headers: { ...headers, cookie }, json } };
  };
  const invited = async () => {
    const json = { email: `${randomUUID()}@test.example` };
    const { body } = await api.send("POST", "/api/v1/invitations", { token, json });
    return (body.path as string).split("#")[1]!;
  };
  const withOwnSession = async () => {
    const { path, options } = await withSession("/api/v1/sessions");
    const { body } = await api.send("GET", path, options);
    return { path: `${path}/${body.data[0].id}`, options };
  };
  /** A session of a user whose authenticator app is set up, as far as asked for. */
  const withApp = async (path: string, { is_confirmed }: { readonly is_confirmed: boolean }) => {
    const { options } = await withSession(path);
    const json = { current_password: password };
    const begun = await api.send("POST", "/api/v1/me/totp", { ...options, json });
    const totp = new TOTP({ secret: Secret.fromBase32(begun.body.secret as string) });
    const code_at = (timestamp: number) => ({ code: totp.generate({ timestamp }) });
    const now = api.clock.now().getTime();
    if (is_confirmed) await api.send("PUT", "/api/v1/me/totp", { ...options, json: code_at(now) });
    // The next code: each counts once.
    return { path, options: { ...options, json: code_at(now + 30_000) } };
  };
  const cookieOf = (answer: { readonly headers: Headers }) =>
    answer.headers.getSetCookie()[0]!.split(";")[0]!;
  const passkeys = "/api/v1/me/passkeys";
  /** A session of a user who has begun to add a passkey; with `is_added`, has added it. */
  const withPasskey = async (is_added: boolean) => {
    const { options } = await withSession(passkeys);
    const json = { current_password: password };
    const begun = await api.send("POST", `${passkeys}/options`, { ...options, json });
    const authenticator = makeAuthenticator(new URL(api.app.public_url).origin);
    const response = authenticator.create(begun.body.options);
    const cookie = `${options.headers.cookie}; ${cookieOf(begun)}`;
    const create = {
      path: passkeys,
      options: { headers: { ...headers, cookie }, json: { name: "Laptop", response } },
    };
    if (!is_added) return { create, authenticator, options, id: 0 };
    const { body } = await api.send("POST", create.path, create.options);
    return { create, authenticator, options, id: body.id as number };
  };
  const signedByPasskey = async () => {
    const { authenticator } = await withPasskey(true);
    const begun = await api.send("POST", "/api/v1/session/passkey/options", { headers });
    const response = authenticator.get(begun.body.options);
    return { headers: { ...headers, cookie: cookieOf(begun) }, json: { response } };
  };
  const removable = async () => {
    const { id, options } = await withPasskey(true);
    return { path: `${passkeys}/${id}`, options };
  };
  const { email } = await signIn();
  const atProvider = async () => {
    provider.claims = { email, email_verified: true };
    const begun = await api.send("POST", "/api/v1/session/oidc", { headers });
    const page = await fetch(begun.body.url as string, { redirect: "manual" });
    const answer = new URL(page.headers.get("location")!).search.slice(1);
    const cookie = begun.headers.get("set-cookie")!.split(";")[0]!;
    return { headers: { ...headers, cookie }, json: { answer } };
  };
  const { link } = await invite();
  return {
    createSession: { path: "/api/v1/session", options: { headers, json: { email, password } } },
    createSessionByLink: {
      path: "/api/v1/session/link",
      options: { headers, json: { link, password } },
    },
    requestOidcSignIn: { path: "/api/v1/session/oidc", options: { headers } },
    createSessionByOidc: { path: "/api/v1/session/oidc/answer", options: await atProvider() },
    previewInvitation: {
      path: "/api/v1/session/invitation/preview",
      options: { headers, json: { link: await invited() } },
    },
    createSessionByInvitation: {
      path: "/api/v1/session/invitation",
      options: { headers, json: { link: await invited(), name: "Asha", password } },
    },
    requestPasswordReset: {
      path: "/api/v1/session/password-reset",
      options: { headers, json: { email } },
    },
    listSessions: await withSession("/api/v1/sessions"),
    deleteSessionById: await withOwnSession(),
    updateMe: await withSession("/api/v1/me", { name: "Asha" }),
    listPasskeys: { path: passkeys, options: (await withPasskey(true)).options },
    requestPasskey: await withSession(`${passkeys}/options`, { current_password: password }),
    createPasskey: (await withPasskey(false)).create,
    deletePasskey: await removable(),
    requestPasskeySignIn: { path: "/api/v1/session/passkey/options", options: { headers } },
    createSessionByPasskey: {
      path: "/api/v1/session/passkey",
      options: await signedByPasskey(),
    },
    readTotp: await withSession("/api/v1/me/totp"),
    createTotp: await withSession("/api/v1/me/totp", { current_password: password }),
    updateTotp: await withApp("/api/v1/me/totp", { is_confirmed: false }),
    removeTotp: await withApp("/api/v1/me/totp/removal", { is_confirmed: true }),
    deleteSession: await withSession("/api/v1/session"),
    deleteAllSessions: await withSession("/api/v1/sessions"),
    updatePassword: await withSession("/api/v1/me/password", {
      current_password: password,
      password: "another battery",
    }),
  };
}
