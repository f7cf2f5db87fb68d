public import Support

#if !canImport(Darwin)
  public import FoundationEssentials

  /// Preferred to the defaults of `LocalizedError`, which are nil. Not in Support, which has no Foundation on Linux.
  /// Modules whose errors are `LocalizedError`s export it, or their users had two members of the name.
  extension LocalizedError where Self: ToolkitError {
    public var errorDescription: String? { sentence }
    public var recoverySuggestion: String? { remedy.map(Sentence.of) }
  }
#endif
