# CPack runs this on the installed files before it packs them, so that the same sources give the same package: folders as everybody may read
# them, whatever the umask, and with SOURCE_DATE_EPOCH set that time for every file.
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -type d -exec chmod 0755 {} + COMMAND_ERROR_IS_FATAL ANY)
if(NOT "$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
