// The same as the preloaded hook, for interpreters that run hooks on a thread of their own.
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error?.code !== "ERR_MODULE_NOT_FOUND" || /^(\.{0,2}\/|[a-z][a-z0-9+.-]*:)/i.test(specifier)) throw error;
    return next(specifier, { ...context, parentURL: import.meta.url });
  }
}
