public import Support

#if !canImport(Darwin)
  public import FoundationEssentials

  /// Preferred to the defaults of `LocalizedError`, which are nil. Not in Support, which has no Foundation on Linux.
  extension LocalizedError where Self: ToolkitError {
    public var errorDescription: String? { sentence }
    public var recoverySuggestion: String? { remedy.map(Sentence.of) }
  }
#endif
