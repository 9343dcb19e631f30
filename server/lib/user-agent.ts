import product from "../../package.json" with { type: "json" };

/** The User-Agent of outgoing requests: the product and the version of its package. */
export const user_agent = `${product.name}/${product.version}`;
