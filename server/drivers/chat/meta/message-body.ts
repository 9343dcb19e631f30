// Builds messages for the Cloud API. `recipient_type` and the language's policy have defaults, but Meta's OpenAPI
// document requires them.
import { isBsuid } from "../../../lib/bsuid.ts";
import type {
  ButtonValue,
  InteractiveMessage,
  Media,
  Outgoing,
  TemplateMessage,
  TextValue,
} from "../driver.ts";

/** Builds the JSON body of one message. */
export function messageBody({ message_id, to, message, route }: Outgoing): string {
  const isTemplate = message.kind === "template";
  return JSON.stringify({
    messaging_product: "whatsapp",
    recipient_type: "individual",
    // In `to`, a BSUID is accepted and never delivered.
    ...(isBsuid(to) ? { recipient: to } : { to }),
    ...(isTemplate ? templateContent(message) : interactiveContent(message)),
    biz_opaque_callback_data: message_id,
    // If Meta cannot send it by its marketing route, it sends it by the standard one.
    product_policy: isTemplate && route === "marketing" ? "CLOUD_API_FALLBACK" : undefined,
  });
}

function templateContent({ name, language, header, body, buttons }: TemplateMessage) {
  const components: unknown[] = [];
  if (header !== null) {
    const value = "text" in header ? textParameter(header.text) : mediaParameter(header.media);
    components.push({ type: "header", parameters: [value] });
  }
  if (body.length > 0) components.push({ type: "body", parameters: body.map(textParameter) });
  for (const button of buttons) components.push(buttonComponent(button));
  return {
    type: "template",
    template: {
      name,
      language: { policy: "deterministic", code: language },
      components: components.length === 0 ? undefined : components,
    },
  };
}

function textParameter({ name, text }: TextValue) {
  return { type: "text", parameter_name: name, text };
}

function mediaParameter({ kind, id, link, filename }: Media) {
  return { type: kind, [kind]: { ...(id === undefined ? { link } : { id }), filename } };
}

function buttonComponent(button: ButtonValue) {
  return {
    type: "button",
    sub_type: button.type,
    index: String(button.index),
    parameters: [buttonParameter(button)],
  };
}

function buttonParameter(button: ButtonValue) {
  switch (button.type) {
    case "quick_reply":
      return { type: "payload", payload: button.payload };
    case "url":
      return { type: "text", text: button.suffix };
    case "copy_code":
      return { type: "coupon_code", coupon_code: button.code };
    case "flow": {
      const { flow_token, flow_action_data } = button;
      return { type: "action", action: { flow_token, flow_action_data } };
    }
  }
}

function interactiveContent(message: InteractiveMessage) {
  const { header, body, footer, action } = message;
  // Meta has no interactive message without an action; send it as text with WhatsApp's markup.
  if (action.type === "none") {
    const parts = [header && `*${header}*`, body, footer && `_${footer}_`];
    return { type: "text", text: { body: parts.filter(Boolean).join("\n\n") } };
  }
  return {
    type: "interactive",
    interactive: {
      type: action.type === "buttons" ? "button" : action.type,
      header: header === null ? undefined : { type: "text", text: header },
      body: { text: body },
      footer: footer === null ? undefined : { text: footer },
      action: interactiveAction(action),
    },
  };
}

function interactiveAction(action: Exclude<InteractiveMessage["action"], { type: "none" }>) {
  switch (action.type) {
    case "buttons":
      return {
        buttons: action.buttons.map(({ id, title }) => ({ type: "reply", reply: { id, title } })),
      };
    case "list":
      return { button: action.button, sections: action.sections };
    case "flow": {
      const { flow_id, cta, flow_token, screen, data } = action;
      const parameters = { flow_message_version: "3", flow_id, flow_cta: cta, flow_token };
      // Meta's default, navigate, does not ask the flow's endpoint. A payload belongs to navigate only.
      if (screen === undefined)
        return { name: "flow", parameters: { ...parameters, flow_action: "data_exchange" } };
      // Meta refuses an empty `data`.
      const has_data = Object.keys(data ?? {}).length > 0;
      const flow_action_payload = { screen, data: has_data ? data : undefined };
      return {
        name: "flow",
        parameters: { ...parameters, flow_action: "navigate", flow_action_payload },
      };
    }
  }
}
