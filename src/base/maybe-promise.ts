/** A value, or one to be waited for. What is known already is not waited for: on the way of every request waits add up. */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with a value: now, or when it is there. */
export const andThen = <T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> =>
  value instanceof Promise ? value.then(next) : next(value)
