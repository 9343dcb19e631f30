// A chat provider scripted by the test, for responses that the sandbox never gives.
import type {
  ChatDriver,
  ChatSendError,
  ProviderNumber,
  ProviderTemplate,
  WebhookGuard,
} from "../../server/drivers/chat/driver.ts";
import { sandboxStub } from "./sandbox-stub.ts";

export type ScriptedProvider = {
  readonly driver: ChatDriver & WebhookGuard;
  /** Its templates and number; tests change them. */
  templates: ProviderTemplate[];
  number: Omit<ProviderNumber, "phone_number_id">;
  /** The error of every request, unless null. */
  failure: ChatSendError | null;
  /** Runs during each request. */
  meanwhile: () => Promise<void>;
  /** The names of the methods called, in order. */
  readonly requested: string[];
};

export function openScriptedProvider(): ScriptedProvider {
  const state: ScriptedProvider = {
    driver: undefined as never,
    templates: [],
    number: {
      phone_number: "919876543210",
      name: "Scripted",
      quality: "YELLOW",
      marketing_onboarded: true,
    },
    failure: null,
    meanwhile: async () => {},
    requested: [],
  };
  const answer = async <Answer>(name: string, make: () => Answer): Promise<Answer> => {
    state.requested.push(name);
    await state.meanwhile();
    if (state.failure) throw state.failure;
    return make();
  };
  const driver: ChatDriver & WebhookGuard = {
    ...sandboxStub,
    listTemplates: () => answer("listTemplates", () => state.templates),
    createTemplate: (_account, draft) =>
      answer("createTemplate", () => {
        const made: ProviderTemplate = {
          ...structuredClone(draft),
          provider_template_id: `scripted-${state.requested.length}`,
          status: "PENDING",
          quality: "UNKNOWN",
          rejection_reason: null,
        };
        state.templates = [...state.templates, made];
        return made;
      }),
    deleteTemplate: (_account, name) =>
      answer("deleteTemplate", () => {
        state.templates = state.templates.filter((one) => one.name !== name);
      }),
    findNumber: ({ phone_number_id }) =>
      answer("findNumber", () => ({ ...state.number, phone_number_id })),
    uploadMedia: (_from, { bytes, mime_type, name }) =>
      answer("uploadMedia", () => `${mime_type} ${name} ${bytes.length}`),
    verifySignature: () => true,
    answerChallenge: () => null,
  };
  return Object.assign(state, { driver });
}
