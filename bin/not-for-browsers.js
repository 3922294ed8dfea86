// What a bundler for browsers gets in place of Cardea. It cannot resolve the name, and so prints the sentence that it is.
export * from 'Cardea runs in Node, not in a browser: import cardea/client there.'
