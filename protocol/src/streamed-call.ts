/** The media type of a call whose body is streamed: the call as one line of JSON, a line feed, then the body's bytes. */
export const streamedCallType = 'application/vnd.sallyport.call'
