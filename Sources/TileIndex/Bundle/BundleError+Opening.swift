import Support

extension BundleError {
  /// What a failed call on a bundle's file or folder means to someone who has the bundle in hand.
  static func unopened(_ error: FileSystem.SystemError, path: String) -> BundleError {
    if error.isMissing {
      return BundleError(.notFound, path: path, "there is nothing of this name", remedy: "check the name")
    }
    if error.isOutOfDescriptors {
      return BundleError(
        .tooManyOpenFiles, path: path, "cannot be opened just now: \(error)", remedy: error.openingRemedy)
    }
    if error.isShortage {
      return BundleError(.busy, path: path, "cannot be opened just now: \(error)", remedy: "free some memory")
    }
    if error.isForbidden {
      return BundleError(.notFound, path: path, "cannot be opened: \(error)", remedy: error.openingRemedy)
    }
    return BundleError(.readFailed, path: path, "could not be read: \(error)", remedy: "check the disk it lies on")
  }

  /// The same for a part of a bundle, such as `its tile 3/2/1`. The whole is there, so a part that may not be read is no missing bundle.
  static func unread(_ part: String, _ error: FileSystem.SystemError, path: String) -> BundleError {
    error.isShortage
      ? unopened(error, path: path)
      : BundleError(
        .readFailed, path: path, "\(part) could not be read: \(error)", remedy: "check the permissions and the disk")
  }
}
