import type { Dialect, Exchange } from '../../http/request-context.ts'

/** The header that says so counts with any value, and with none. */
export const declinesChallenge = (exchange: Exchange | undefined): boolean =>
  exchange?.header('x-omit-www-authenticate') !== undefined

/** Another dialect as it speaks at this door: without challenges where they are declined. */
export const withDeclinedChallenges = (dialect: Dialect): Dialect => ({
  ...dialect,
  spell: (refusal, exchange) => {
    const reply = dialect.spell(refusal, exchange)
    if (!declinesChallenge(exchange)) return reply
    return { ...reply, headers: reply.headers.filter(([name]) => name.toLowerCase() !== 'www-authenticate') }
  },
})
