// Loaded by flameox before the program: lets import find the packages of the environment where nothing nearer has them.
import * as module from "node:module";

const parentURL = new URL("./flameox-hooks.mjs", import.meta.url).href;
const missing = (specifier, error) => error?.code === "ERR_MODULE_NOT_FOUND" && !/^(\.{0,2}\/|[a-z][a-z0-9+.-]*:)/i.test(specifier);

if (module.registerHooks) {
  module.registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        if (!missing(specifier, error)) throw error;
        return next(specifier, { ...context, parentURL });
      }
    },
  });
} else {
  module.register(parentURL);
}
