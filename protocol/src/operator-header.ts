/** With this header, the session of a local operator acts as the admin. */
export const operatorHeader = 'x-sallyport-operator'
