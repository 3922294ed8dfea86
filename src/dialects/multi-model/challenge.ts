import type { Dialect, RequestContext } from '../../http/request-context.ts'

/** The header that says so counts with any value, and with none. */
export const declinesChallenge = (context: RequestContext | undefined): boolean =>
  context?.header('x-omit-www-authenticate') !== undefined

/** Another dialect as it speaks at this door: without challenges where they are declined. */
export const withDeclinedChallenges = (dialect: Dialect): Dialect => ({
  ...dialect,
  renderError: (refusal, context) => {
    const reply = dialect.renderError(refusal, context)
    if (!declinesChallenge(context)) return reply
    return { ...reply, headers: reply.headers.filter(([name]) => name.toLowerCase() !== 'www-authenticate') }
  },
})
