// The only runtime imports from the server: pure modules, so that a preview is made by the code that sends, and lists
// are complete.
export { audit_actions } from "../server/accounts/audit/audit-actions.ts";
export { featuresFor } from "../server/accounts/permission-features.ts";
export { tookCall } from "../server/calls/agent-took-leg.ts";
export { makeTemplatePlan } from "../server/chat/messages/build-message-plan.ts";
export { messageText } from "../server/chat/messages/message-text.ts";
export { renderMessage } from "../server/chat/messages/render-message.ts";
export { compactPhone, nationalPhone, tenDigits } from "../server/lib/phone-numbers.ts";
export { fillText, placeholdersOf } from "../server/calls/state-machine/script-text.ts";
